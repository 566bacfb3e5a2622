/** The end of the JSON string that begins at this quotation mark. A regular expression would need stack per escape. */
export function stringEnd(text: string, start: number): number {
  let end = start
  for (;;) {
    end = text.indexOf('"', end + 1)
    if (end < 0) return text.length
    let escapes = end
    while (text[escapes - 1] === '\\') escapes--
    if ((end - escapes) % 2 === 0) return end + 1
  }
}
