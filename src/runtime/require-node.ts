import { unsupportedNode } from './node-version.ts'

/** The built entry points for programs import this file first: its error comes before the ones of missing built-in modules. */
const refusal = unsupportedNode(process.versions.node)
if (refusal) throw new Error(refusal)
