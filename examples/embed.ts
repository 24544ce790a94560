// Holdfast inside a program: one folder holds its agents, and turns that a crash interrupts continue at the next start.
import { openHoldfast, Problem } from 'holdfast'

const holdfast = await openHoldfast({ home: process.env.HOLDFAST_HOME ?? './holdfast-home' })
try {
  const agent = await holdfast.agents.get('ada').catch((error) => {
    if (error instanceof Problem && error.kind === 'not-found')
      return holdfast.agents.create({ name: 'ada', model: 'scripted/friendly' })
    throw error
  })

  // Send, wait for the end of the run, read the reply.
  const { run, text } = await holdfast.messages.ask({ agent, text: 'What time is it?' })
  console.log(text)
  console.log(run.stopReason)

  // Or watch the run while it happens. The numbers let a later process continue where this one stopped.
  const { runId } = await holdfast.messages.send({ agent, text: 'Count to 3', streamTokens: true })
  for await (const { number, chunk } of holdfast.runs.watch(runId))
    if (chunk.message_type === 'assistant_message') console.log(number, chunk.content)
} finally {
  await holdfast.close()
}
