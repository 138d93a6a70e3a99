// A filter in the shape of Azure Resource Manager, as the service shows it: the subject's beginning
// and end also when they are empty, everything else only when it is set.
//
// *Differs:* the service shows numbers with a fraction (`2.0`); in JSON both are the same number,
// and we write `2`.

import type { AdvancedFilter, Filter } from "../filter.ts";

export interface FilterShape {
  readonly subjectBeginsWith: string;
  readonly subjectEndsWith: string;
  readonly includedEventTypes?: readonly string[];
  readonly isSubjectCaseSensitive?: true;
  readonly enableAdvancedFilteringOnArrays?: true;
  readonly advancedFilters?: readonly AdvancedFilter[];
}

export function renderFilter(filter: Filter): FilterShape {
  const { includedEventTypes, advanced } = filter;
  return {
    subjectBeginsWith: filter.subjectBeginsWith,
    subjectEndsWith: filter.subjectEndsWith,
    ...(includedEventTypes !== null && { includedEventTypes }),
    ...(filter.isSubjectCaseSensitive && { isSubjectCaseSensitive: true }),
    ...(filter.onArrays && { enableAdvancedFilteringOnArrays: true }),
    ...(advanced.length > 0 && { advancedFilters: advanced }),
  };
}
