import { fileURLToPath } from 'node:url'
import { bundle } from '../bundle.ts'

/** Builds the command as it is shipped, and the entry point of the benchmarks, into `bench-dist/`. */
await bundle(
  { command: 'src/main.ts', modules: ['bench/holdfast.ts'] },
  fileURLToPath(new URL('../bench-dist', import.meta.url)),
)
