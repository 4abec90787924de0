-- Which of the asked memory keys (of a task's token and state) are there. A missing row: it is not.
select m.token, m.state, m.key
from json_each(:rows) as r
join tasks k on k.id = r.value ->> 'task'
join memory m on m.token = k.token and m.state = k.state and m.key = r.value ->> 'key'
