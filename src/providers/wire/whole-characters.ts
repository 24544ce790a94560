/** JSON.stringify escapes lone surrogates and never a complete pair. An escaped backslash is skipped. */
const LONE_SURROGATES = /\\\\|\\ud[89a-f][0-9a-f]{2}/g

/**
 * Text cut in the middle of an emoji ends with a lone surrogate. Providers reject a request that contains one as
 * invalid JSON, and it stays in the history: without this, every later request of the conversation fails too.
 */
export const withWholeCharacters = (json: string): string =>
  json.includes('\\ud') ? json.replace(LONE_SURROGATES, (found) => (found === '\\\\' ? found : '\ufffd')) : json
