-- Reads the items that these tasks have locked. Zero rows: none.
select i.scope, i.place, i.entity, i.item, i.status, i.data::text as data, i.reason, i.task, i.attempt, i.token, i.seq,
       i.locked_until, i.changed_at, i.expires_at, false as left_out
from items i
where i.task = any(:tasks::bigint[]) and i.status = 'processing'
