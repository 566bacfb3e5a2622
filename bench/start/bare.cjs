// The baseline: a minimal server with /readyz. CommonJS, because it loads fastest.
const { createServer } = require('node:http')

const server = createServer((request, response) => {
  response.writeHead(request.url === '/readyz' ? 200 : 404, { 'content-type': 'application/json' })
  response.end('{"status":"ready"}')
})
server.listen(0, '127.0.0.1', () => console.log(`listening on ${server.address().port}`))
