/** JSON.stringify escapes half a character and never a whole one. A backslash that is text itself is passed over. */
const LONE_SURROGATES = /\\\\|\\ud[89a-f][0-9a-f]{2}/g

/**
 * Text cut in the middle of an emoji ends with half a character. Providers refuse a request that holds one as no JSON at
 * all, and it stays in the history: without this every later request of the conversation would be refused too.
 */
export const withWholeCharacters = (json: string): string =>
  json.includes('\\ud') ? json.replace(LONE_SURROGATES, (found) => (found === '\\\\' ? found : '\ufffd')) : json
