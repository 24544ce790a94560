import { join } from 'node:path'
import { writeBillOfMaterials } from './bill-of-materials.ts'
import { bundle } from './bundle.ts'
import { writeDeclarations } from './declarations.ts'
import { writeThirdPartyLicenses } from './third-party-licenses.ts'

/**
 * Makes `dist/`, or the folder that is named, for publishing. The entry points are the command and, for programs that have
 * Holdfast inside them, embedded and ai-sdk.
 */
const target = process.argv[2] ?? 'dist'
const modules = ['src/embedded.ts', 'src/ai-sdk.ts']
const bundled = await bundle({ command: 'src/main.ts', modules }, target)
const declared = await writeDeclarations(modules, target)
writeBillOfMaterials([...bundled, ...declared], join(target, 'sbom.cdx.json'))
writeThirdPartyLicenses([...bundled, ...declared], join(target, 'third-party-licenses.txt'))
