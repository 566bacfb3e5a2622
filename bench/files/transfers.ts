import { FilesClient } from './client.ts'

/**
 * Uploads and downloads until the end of standard input, in its own process, so that its event loop does not affect the
 * measurement. Reports when the first transfers are complete, because starting a process costs more than transferring.
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
