import { spawnSync } from 'node:child_process'

type Program = { trial: string[]; debianPackage: string; path?: string; isRight?(output: string): boolean }

/** Programs that npm cannot install. A test that needs a missing one is skipped; `.ci/run` installs them. */
const PROGRAMS = {
  strace: { trial: ['-o', '/dev/null', 'true'], debianPackage: 'strace' },
  prlimit: { trial: ['--version'], debianPackage: 'util-linux' },
  // Not `--version`: in some containers it is installed but may not create namespaces.
  bwrap: { trial: ['--unshare-all', '--ro-bind', '/', '/', 'true'], debianPackage: 'bubblewrap' },
  perl: { trial: ['-e', '1'], debianPackage: 'perl' },
  gcc: { trial: ['--version'], debianPackage: 'gcc libc6-dev' },
  rg: { trial: ['--version'], debianPackage: 'ripgrep' },
  bash: { trial: ['-c', 'true'], debianPackage: 'bash' },
  zsh: { trial: ['-c', 'true'], debianPackage: 'zsh' },
  fish: { trial: ['-c', 'true'], debianPackage: 'fish' },
  // The BSD version has other parameters.
  script: { trial: ['--version'], debianPackage: 'bsdutils', isRight: (output) => output.includes('util-linux') },
  // Runs tools from source. The sandbox sees that of the system alone.
  python3: { trial: ['--version'], debianPackage: 'python3', path: '/usr/bin/python3' },
  // Of that Python: models as arguments of tools.
  pydantic: { trial: ['-c', 'import pydantic'], debianPackage: 'python3-pydantic', path: '/usr/bin/python3' },
  // Opens pages that an agent serves, and calls the API from a page of another origin.
  chromium: { trial: ['--version'], debianPackage: 'chromium' },
} satisfies Record<string, Program>

/** The reason to skip a test that needs the program, with the command that installs it; false if it works. */
export function missingProgram(name: keyof typeof PROGRAMS): string | false {
  const { trial, debianPackage, isRight, path = name }: Program = PROGRAMS[name]
  const { status, stdout } = spawnSync(path, trial, { encoding: 'utf8' })
  const isThere = status === 0 && (isRight?.(stdout) ?? true)
  return isThere ? false : `no ${name} that works here: apt-get install ${debianPackage}`
}
