-- Which of the asked memory keys (of a task's token and state) are there. A missing row: it is not.
select m.token, m.state, m.key
from json_to_recordset(:rows) as r(task bigint, key text)
cross join lateral (select k.token, k.state from tasks k where k.id = r.task limit 1) k
cross join lateral (
    select e.token, e.state, e.key from memory e
    where e.token = k.token and e.state = k.state and e.key = r.key
    limit 1
) m
