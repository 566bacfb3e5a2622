import type { TestContext } from 'node:test'
import { type Browser, chromium } from 'playwright-core'

/** The path of Chromium on Debian, unless the environment sets another one. */
const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

export async function browser(t: TestContext): Promise<Browser> {
  const launched = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  t.after(() => launched.close())
  return launched
}
