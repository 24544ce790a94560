// The HTTP API of a home from inside a program: the official client `@letta-ai/letta-client` talks to it.
import { openHoldfast } from 'holdfast'

const holdfast = await openHoldfast({ home: process.env.HOLDFAST_HOME ?? './holdfast-home' })
const server = await holdfast.serve({ port: Number(process.env.PORT ?? 8283) })
console.log(`Holdfast serves at ${server.url}`)
process.once('SIGTERM', () => holdfast.close())
process.once('SIGINT', () => holdfast.close())
