import { FilesClient } from './client.ts'

/**
 * Uploads and downloads, in a process of its own so that nobody else waits for it, until the standard input ends. Says so
 * when the first ones are done: a process that starts takes more than one that sends.
 */
const [base = '', token = '', bytes = '', atOnce = '1'] = process.argv.slice(2)
const client = new FilesClient(base, token)
process.stdin.on('end', () => process.exit()).resume()
const transfer = async (): Promise<never> => {
  while (true) {
    await client.download(await client.upload(Number(bytes)))
    process.stdout.write('.')
  }
}
await Promise.all(Array.from({ length: Number(atOnce) }, transfer))
