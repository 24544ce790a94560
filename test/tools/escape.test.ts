import assert from 'node:assert/strict'
import { test } from 'node:test'
import { missingProgram } from '../harness/programs.ts'
import { ENVIRONMENT_PROBES } from '../workspaces/escapes/environment.ts'
import { FILE_PROBES } from '../workspaces/escapes/files.ts'
import { KERNEL_PROBES } from '../workspaces/escapes/kernel.ts'
import { NETWORK_PROBES } from '../workspaces/escapes/network.ts'
import { plantOutside } from '../workspaces/escapes/outside.ts'
import type { Outside } from '../workspaces/escapes/probe.ts'
import { PROCESS_PROBES } from '../workspaces/escapes/processes.ts'
import { serveTools } from './fixture-tools.ts'

const TRY = `
def try_all(commands: list[str]) -> list:
    """Tries."""
    import subprocess
    import os
    from concurrent.futures import ThreadPoolExecutor
    os.environ["WATCHER"] = str(os.getppid())
    def one(command):
        return subprocess.run(["bash", "-c", "exec 2>/dev/null; " + command], capture_output=True).stdout.decode("utf-8", "replace")[-2000:]
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(one, commands))
`

test('no probe of the sandbox of workspaces escapes from inside a tool', {
  skip: missingProgram('bwrap') || missingProgram('perl'),
}, async (context) => {
  const { planted } = await plantOutside(context, 'bubblewrap')
  const { bring, run, home } = await serveTools(context, { secrets: { MINE: 'of this agent' } })
  await bring({ source_code: TRY, return_char_limit: 1_000_000 })
  const outside: Outside = {
    ...planted,
    neighbor: { file: `${home}/workspaces/other/files/precious`, socket: `${home}/workspaces/other/supervisor.sock` },
    ownSocket: `${home}/workspaces/supervisor.sock`,
    node: '/holdfast/node',
    watcher: '$WATCHER',
  }
  for (const probes of [FILE_PROBES, ENVIRONMENT_PROBES, NETWORK_PROBES, PROCESS_PROBES, KERNEL_PROBES]) {
    const { output, status } = await run('try_all', { commands: probes.map((probe) => probe.command(outside)) })
    assert.equal(status, 'success', output)
    const texts = JSON.parse(output) as string[]
    const through = probes.flatMap((probe, index) =>
      probe.success.test(texts[index]!) ? [`${probe.tries}: ${texts[index]}`] : [],
    )
    assert.deepEqual(through, [])
  }
})
