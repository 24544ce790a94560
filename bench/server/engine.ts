/** The same turns without a server around them: prints the CPU of one, in milliseconds. */
const [, , home, model, lanes, turns] = process.argv
const dist = process.env.BENCH_DIST ?? new URL('../../bench-dist/', import.meta.url).href
const holdfast = (await import(new URL('holdfast.js', dist).href)) as typeof import('../holdfast.ts')
const { openApp, createAgent, requireConversation, sendMessage, waitForRun } = holdfast

const { context, close } = await openApp({
  environment: { HOLDFAST_HOME: home, HOLDFAST_DURABILITY: 'relaxed', OPENAI_BASE_URL: model, OPENAI_API_KEY: 'bench' },
  role: 'owner',
})
const made = Array.from({ length: Number(lanes) }, async (_, lane) => {
  const request = { name: `bench-${lane}`, system: 'Use your tools.', model: 'openai/tools', tools: ['current_time'] }
  const agent = await createAgent(request, context)
  return { agent, conversationId: (await requireConversation(agent, undefined, context)).id }
})
const conversations = await Promise.all(made)

async function round(count: number): Promise<void> {
  let next = 0
  const lane = async (conversation: (typeof conversations)[number]) => {
    while (next++ < count) {
      const { runId } = await sendMessage(
        { ...conversation, content: [{ type: 'text', text: 'What time is it?' }] },
        context,
      )
      const run = await waitForRun(runId, context)
      if (run.stopReason !== 'end_turn') throw new Error(`the run ended ${run.status} / ${run.stopReason}`)
    }
  }
  await Promise.all(conversations.map(lane))
}

await round(Number(turns))
const before = process.cpuUsage()
await round(Number(turns))
const { user, system } = process.cpuUsage(before)
console.log((user + system) / 1_000 / Number(turns))
await close()
