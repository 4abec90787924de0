-- Reads the items that these tasks have locked; the tasks come as a JSON list. Zero rows: none.
select i.scope, i.place, i.entity, i.item, i.status, i.data, i.reason, i.task, i.attempt, i.token, i.seq,
       i.locked_until, i.changed_at, i.expires_at, false as left_out
from items i
where i.task in (select value from json_each(:tasks)) and i.status = 'processing'
