-- All that the tokens of these tasks remember; the ids come as a JSON list. A missing row: nothing.
select m.token, m.state, m.key, m.value
from memory m
where m.token in (select k.token from tasks k where k.id in (select value from json_each(:tasks)))
