// `query-times.ts URL QUERY ORDER TIMES UNCOUNTED`: prints the milliseconds of each run of a query as a JSON array. A
// program of its own, because a node may be reachable in another network namespace only.
import { request } from 'node:http'

const [url = '', query = '', order = '', times = '', uncounted = ''] = process.argv.slice(2)

/** Opens a connection per request, as the measuring programs do. */
function post(path: string, value: unknown, token?: string): Promise<string> {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/api/v2/${path}`, { method: 'POST', agent: false, headers }, (response) => {
      response.toArray().then((parts) => {
        const body = Buffer.concat(parts).toString()
        if (response.statusCode === 200 || response.statusCode === 201) resolve(body)
        else reject(new Error(`${path}: ${response.statusCode} ${body}`))
      }, reject)
    })
    sent.on('error', reject).end(JSON.stringify(value))
  })
}

const manifest = { appId: 'com.example.load', displayName: 'Load', version: '1.0.0' }
const { token } = JSON.parse(await post('auth', manifest)) as { token: string }
const measured: number[] = []
for (let i = 0; i < Number(uncounted) + Number(times); i++) {
  const start = performance.now()
  await post('events/query', { query, order }, token)
  if (i >= Number(uncounted)) measured.push(performance.now() - start)
}
console.log(JSON.stringify(measured))
