-- Which of the asked keys (of a token, or of a task's token) are used. A missing row: it is not used.
select l.token, l.key
from json_to_recordset(:rows) as r(token text, task bigint, key text)
cross join lateral (
    select e.token, e.key from ledger e
    where e.token = coalesce(r.token, (select k.token from tasks k where k.id = r.task)) and e.key = r.key
    limit 1
) l
