// Preloaded with `--require`: traces module requests and the calls that open a data folder, and writes the trace to
// $BENCH_TRACE on exit. JavaScript, because stripping types would cost more than the tracing.
const { registerHooks, syncBuiltinESMExports } = require('node:module')
const fs = require('node:fs')
const { performance } = require('node:perf_hooks')

const monotonic = () => Number(process.hrtime.bigint()) / 1e6

const firstLine = monotonic()
const origin = firstLine - performance.now()
const modules = []
const calls = []
const file = process.env.BENCH_TRACE
delete process.env.BENCH_TRACE

function timed(holder, name, label) {
  const original = holder[name]
  holder[name] = function (...args) {
    const start = monotonic()
    try {
      return original.apply(this, args)
    } finally {
      calls.push({ label: label(this, args), ms: monotonic() - start })
    }
  }
}

// Modules are patched when the program loads them, not before: loading them is part of the measurement.
const watch = new Map([
  [
    'node:sqlite',
    ({ DatabaseSync, StatementSync }) => {
      timed(DatabaseSync.prototype, 'exec', (_, [sql]) => sql)
      for (const name of ['get', 'run', 'all']) timed(StatementSync.prototype, name, (statement) => statement.sourceSQL)
    },
  ],
  [
    'node:crypto',
    (crypto) => {
      for (const name of ['createPrivateKey', 'createPublicKey', 'createHash']) timed(crypto, name, () => name)
    },
  ],
])

function noteModule(url) {
  modules.push({ at: monotonic(), url })
  watch.get(url)?.(getBuiltin(url))
  watch.delete(url)
}

registerHooks({
  resolve(specifier, context, next) {
    const start = modules.push({ at: monotonic(), url: specifier }) - 1
    const resolved = next(specifier, context)
    modules[start].url = resolved.url
    if (resolved.url.startsWith('node:')) noteModule(resolved.url)
    return resolved
  },
})

// Another way to load a builtin module, which hooks do not see. It is called synchronously by running code.
const getBuiltin = process.getBuiltinModule
process.getBuiltinModule = (name) => {
  modules.push({ at: monotonic(), url: 'running' })
  noteModule(name)
  const builtin = getBuiltin(name)
  modules.push({ at: monotonic(), url: 'running' })
  return builtin
}

timed(fs, 'fsyncSync', () => 'fsync (manifest and its folder)')
syncBuiltinESMExports()

// Without a handler the signal would kill the program without an `exit` event.
process.once('SIGTERM', () => {
  if (process.listenerCount('SIGTERM') === 0) process.exit()
})
process.on('exit', () => {
  fs.writeFileSync(file, JSON.stringify({ firstLine, origin, timeOrigin: performance.timeOrigin, modules, calls }))
})
