// Loaded before each test file, and in each of its threads: threads of the source run from the built package.
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isMainThread } from 'node:worker_threads'

const source = new URL('../src/', import.meta.url).href
const built = process.env['BUILT_PACKAGE']

if (!isMainThread && built !== undefined)
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context)
      const { url } = resolved
      if (!url.startsWith(source) || !url.endsWith('-thread.ts')) return resolved
      const name = url.slice(url.lastIndexOf('/') + 1, -'.ts'.length)
      return { ...resolved, url: pathToFileURL(join(built, 'dist', `${name}.js`)).href, format: 'module' }
    },
  })
