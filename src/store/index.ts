export { DataFolder } from './data-folder.ts'
export { NodeDatabase } from './node-database.ts'
