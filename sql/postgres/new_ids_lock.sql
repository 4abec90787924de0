-- Reserves ids that are about to be started, in any case of letters, until the transaction ends.
-- `reserved` is false: another connection is starting it now. One row per id.
select n.id, pg_try_advisory_xact_lock(hashtextextended(lower(n.id collate "C"), :seed)) as reserved
from unnest(:ids::text[]) as n(id)
