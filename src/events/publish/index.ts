export { publishedJson } from './published-json.ts'
export { Publisher } from './publisher.ts'
