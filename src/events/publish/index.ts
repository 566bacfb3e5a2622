export { publishedText } from './published-text.ts'
export { Publisher } from './publisher.ts'
