import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Runs each text with bash in a scratch folder of its own, and prints the numbers of those after which the file is gone. */
const DRIVER = `
cd /tmp
for file in /corpus/*.sh; do
  number=\${file##*/}
  mkdir -p /tmp/s/victim && echo content > /tmp/s/victim/file && cd /tmp/s
  timeout -k 1 5 bash "$file" > /dev/null 2>&1 < /dev/null
  cd /tmp
  [ -s /tmp/s/victim/file ] || echo "\${number%.sh}"
  /bin/rm -rf /tmp/s
done
`

/** The truth: which of these command lines destroy the victim. They run in a sandbox without network or host files. */
export async function whatCommandsDestroy(texts: readonly string[]): Promise<Set<number>> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-guard-'))
  try {
    for (const [index, text] of texts.entries()) writeFileSync(join(folder, `${index}.sh`), text)
    const binds = ['/usr', '/bin', '/lib', '/lib64', '/etc/alternatives'].flatMap((path) => [
      '--ro-bind-try',
      path,
      path,
    ])
    const sandbox = [...binds, '--ro-bind', folder, '/corpus', '--tmpfs', '/tmp', '--dev', '/dev', '--proc', '/proc']
    const child = spawn(
      'bwrap',
      [...sandbox, '--unshare-all', '--die-with-parent', '--new-session', 'bash', '-c', DRIVER],
      {
        env: { PATH: process.env.PATH ?? '', HOME: '/tmp' },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    let output = ''
    let errors = ''
    child.stdout.on('data', (text) => {
      output += text
    })
    child.stderr.on('data', (text) => {
      errors += text
    })
    const code = await new Promise((resolve) => child.once('close', resolve))
    if (code !== 0) throw new Error(`bwrap ended with ${code}: ${errors}`)
    return new Set(output.split('\n').filter(Boolean).map(Number))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
