import { FilesClient } from './client.ts'

/** Uploads and downloads, in a process of its own so that nobody else waits for it, until the standard input ends. */
const [base = '', token = '', bytes = ''] = process.argv.slice(2)
const client = new FilesClient(base, token)
process.stdin.on('end', () => process.exit()).resume()
while (true) await client.download(await client.upload(Number(bytes)))
