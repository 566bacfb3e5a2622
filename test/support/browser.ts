import type { TestContext } from 'node:test'
import { type Browser, chromium } from 'playwright-core'

/** Debian's name of it, unless the environment names another. */
const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

export async function browser(t: TestContext): Promise<Browser> {
  const launched = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  t.after(() => launched.close())
  return launched
}
