-- Which of the asked keys (of a token, or of a task's token) are used. A missing row: it is not used.
select l.token, l.key
from json_each(:rows) as r
join ledger l
  on l.token = coalesce(r.value ->> 'token', (select k.token from tasks k where k.id = r.value ->> 'task'))
 and l.key = r.value ->> 'key' and l.key is not null
