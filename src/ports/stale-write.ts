/** A tool's write targets a row that has changed since the tool read it. Nothing of its commit was written. */
export class StaleWrite extends Error {
  constructor() {
    super('the row that a tool wants to change was changed by another writer')
    this.name = 'StaleWrite'
  }
}
