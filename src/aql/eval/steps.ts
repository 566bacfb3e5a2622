export { finish, type Steps } from '../steps.ts'
