import { stripVTControlCharacters } from 'node:util'

/** What differs between two recordings, by its placeholder. */
const volatile: readonly (readonly [RegExp, string])[] = [
  [/\b12D3KooW\w{44}\b/g, '<peer ID>'],
  [/\b3\.\d+\.\d+-\S+-(debug|release)\b/g, '<version>'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(Z|[+-]\d\d:\d\d)/g, '<time>'],
  [/\b[0-9A-Z]{4}(-[0-9A-Z]{4}){4}\b/g, '<one-time code>'],
  [/(^| )\d+\/[./0-9A-Za-z]{4}-0@/g, '$1<lamport>/<node>-0@'],
  [/<node ID>-0\/\d+/g, '<stream>/<offset>'],
  [/, up \d.*$/g, ', up <duration>'],
  [/\d+(\.\d)? [KMGT]iB/g, '<size>'],
  [/\d+(\.\d)?(\/s| %)/g, '<n>$2'],
  [/(published|received|running|ended|CPU|events|files) {2,}/g, '$1    '],
]

/** The text of a terminal in a form that is the same for every recording. */
export function withoutVolatile(
  screen: string,
  { folder, nodeId, ports }: { folder: string; nodeId: string; ports: Readonly<Record<string, number>> },
): string {
  const lines = stripVTControlCharacters(screen).replaceAll('\r', '').split('\n')
  // Not every machine has IPv6.
  const shown = lines
    .filter((line) => !/\/ip6\/|bound to \[|^using data directory/.test(line))
    .map((line) => line.trimEnd())
  let text = shown
    .join('\n')
    .replaceAll(/ {2}http:\/\/\[::1?\]:\d+/g, '')
    .replaceAll(/ {2}\[::1?\]:\d+/g, '')
    .replaceAll(folder, '/home/anna/shoal-data')
    .replaceAll(nodeId, '<node ID>')
  for (const [port, known] of Object.entries(ports))
    text = text.replaceAll(new RegExp(`\\b${port}\\b`, 'g'), String(known))
  for (const [pattern, placeholder] of volatile)
    text = text
      .split('\n')
      .map((line) => line.replace(pattern, placeholder))
      .join('\n')
  return text.trim().replaceAll(/\n{3,}/g, '\n\n')
}
