-- All that the tokens of these tasks remember in the tasks' states. A missing row: nothing.
select m.token, m.state, m.key, m.value::text as value
from memory m
where m.token = any(array(select k.token from tasks k where k.id = any(:tasks::bigint[])))
