import { execFileSync } from 'node:child_process'
import { bundle } from './bundle.ts'

/**
 * Makes `dist/`, or the folder that is named, for publishing, with declarations from tsc. The entry points are the command
 * and, for programs that have Holdfast inside them, embedded and ai-sdk.
 */
const target = process.argv[2] ?? 'dist'
await bundle({ command: 'src/main.ts', modules: ['src/embedded.ts', 'src/ai-sdk.ts'] }, target)
execFileSync('node_modules/.bin/tsc', ['-p', 'tsconfig.build.json', '--outDir', target], { stdio: 'inherit' })
