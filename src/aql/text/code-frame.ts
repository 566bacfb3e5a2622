/** A code frame: the line of a position with a caret below it, and a message. */
export function codeFrame(text: string, position: number, message: string): string {
  const above = text.slice(0, position).split('\n')
  const before = [...(above.at(-1) ?? '')].length
  const whole = lineAt(text, position - (above.at(-1)?.length ?? 0))
  const onBreak = text[position] === '\n' || text[position] === '\r'
  const line = onBreak ? whole.replaceAll('\r', '␍').replaceAll('\n', '␊') : whole.replace(/[\r\n]/g, '')
  const indent = [...line].slice(0, before).map((character) => (character === '\t' ? '\t' : ' '))
  const gutter = ' '.repeat(String(above.length).length)
  return [
    `${gutter}--> ${above.length}:${before + 1}`,
    `${gutter} |`,
    `${above.length} | ${line}`,
    `${gutter} | ${indent.join('')}^---`,
    `${gutter} |`,
    `${gutter} = ${message}`,
  ].join('\n')
}

/** The line that starts here, with its line break. */
function lineAt(text: string, start: number): string {
  const end = text.indexOf('\n', start)
  return text.slice(start, end < 0 ? text.length : end + 1)
}
