-- As new_ids_lock, but waits for who is starting the same id. One row per id.
select n.id, pg_advisory_xact_lock(hashtextextended(lower(n.id collate "C"), :seed)) is not null as reserved
from unnest(:ids::text[]) as n(id)
