/** The text without these characters at its end. An expression such as `/\/+$/` takes quadratic time on hostile texts. */
export function withoutEnding(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end -= 1
  return text.slice(0, end)
}
