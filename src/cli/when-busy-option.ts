import { Option } from 'commander'
import { ADMISSION_POLICIES } from '../core/admission.ts'

export const whenBusyOption = (description: string): Option =>
  new Option('--when-busy <how>', description).choices(ADMISSION_POLICIES)
