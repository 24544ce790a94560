/** `npm run test:all` tries everything; the test command tries a slice of what is tried by number. */
export const isFullRun = process.env.HOLDFAST_TESTS === 'all'

/** How many cases of a property are tried. */
export const caseCount = (whole: number): number => (isFullRun ? whole : Math.ceil(whole / 4))
