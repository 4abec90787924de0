-- What used the asked keys (of a token, or of a task's token): the entry's kind, and why an event was refused.
-- A missing row: the key is not used.
select l.token, l.key, l.kind, l.reason
from json_to_recordset(:rows) as r(token text, task bigint, key text)
cross join lateral (
    select e.token, e.key, e.kind, case when e.kind = 'event_rejected' then e.data ->> 'reason' end as reason
    from ledger e
    where e.token = coalesce(r.token, (select k.token from tasks k where k.id = r.task)) and e.key = r.key
    limit 1
) l
