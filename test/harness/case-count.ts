/** `npm run test:all` runs all cases; `npm test` runs a quarter of the cases that are tried by number. */
export const isFullRun = process.env.HOLDFAST_TESTS === 'all'

/** The number of cases of a property. */
export const caseCount = (whole: number): number => (isFullRun ? whole : Math.ceil(whole / 4))
