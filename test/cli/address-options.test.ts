import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostName, nodeUrl, originText } from '../../src/cli/address-options.ts'

test('a node address is a host, a port, both, a URL or a multiaddress', () => {
  for (const [text, url] of [
    ['localhost:4454', 'http://localhost:4454'],
    ['localhost', 'http://localhost:4454'],
    ['4455', 'http://localhost:4455'],
    ['node.example:80', 'http://node.example:80'],
    ['http://localhost:4455', 'http://localhost:4455'],
    ['http://localhost:4455/', 'http://localhost:4455'],
    ['HTTP://LOCALHOST', 'http://localhost:4454'],
    ['10.0.0.7', 'http://10.0.0.7:4454'],
    ['::1', 'http://[::1]:4454'],
    ['[::1]:5', 'http://[::1]:5'],
    ['/ip4/127.0.0.1/tcp/4455', 'http://127.0.0.1:4455'],
    ['/ip6/::1/tcp/4455', 'http://[::1]:4455'],
  ])
    assert.equal(nodeUrl(text ?? ''), url, text)
})

test('a malformed node address is rejected with the allowed forms', () => {
  for (const text of [
    '',
    'a b',
    'http://',
    'localhost:65536',
    'localhost:x',
    'a@b',
    'http://localhost/api/v2',
    '99999',
    '/',
  ])
    assert.throws(
      () => nodeUrl(text),
      { code: 'ERR_INVALID_INPUT', message: /^--node: '.*' is not a node address\. Allowed: host, host:port/ },
      text,
    )
  assert.throws(() => nodeUrl('https://localhost:4454'), { message: /^--node: 'https:.*' is HTTPS/ })
})

test('a host name is normalized: without scheme, port and slash, in lower case', () => {
  for (const [text, name] of [
    ['node.example.com', 'node.example.com'],
    ['Node.Example.com:4454', 'node.example.com'],
    ['node.example.com.', 'node.example.com'],
    ['http://node.example.com:4454/', 'node.example.com'],
    ['müller.example', 'xn--mller-kva.example'],
  ])
    assert.equal(hostName('--api-host', text ?? ''), name, text)
  for (const text of ['', 'a b', 'a/b', 'a:x', 'http://a/b', '*'])
    assert.throws(
      () => hostName('--api-host', text),
      { message: /^--api-host: '.*' is not a host name\. Allowed: / },
      text,
    )
})

test('an origin is normalized to the form that browsers send', () => {
  for (const [text, origin] of [
    ['https://app.example', 'https://app.example'],
    ['https://App.example:443/', 'https://app.example'],
    ['http://localhost:3000/', 'http://localhost:3000'],
    ['capacitor://localhost', 'capacitor://localhost'],
    ['null', 'null'],
  ])
    assert.equal(originText('--cors-origins', text ?? ''), origin, text)
  for (const text of ['', 'app.example', '*', 'https://app.example/path', 'localhost:3000'])
    assert.throws(
      () => originText('--cors-origins', text),
      { message: /^--cors-origins: '.*' is not an origin\. Allowed: / },
      text,
    )
})
