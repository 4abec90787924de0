-- What used the asked keys (of a token, or of a task's token): the entry's kind, and why an event was refused.
-- A missing row: the key is not used.
select l.token, l.key, l.kind, case when l.kind = 'event_rejected' then l.data ->> 'reason' end as reason
from json_each(:rows) as r
join ledger l
  on l.token = coalesce(r.value ->> 'token', (select k.token from tasks k where k.id = r.value ->> 'task'))
 and l.key = r.value ->> 'key' and l.key is not null
