/** A tool's write was made for a row that has changed since. Nothing of its commit was written. */
export class StaleWrite extends Error {
  constructor() {
    super('the row that a tool wanted to change was changed by somebody else')
    this.name = 'StaleWrite'
  }
}
