-- Writes down which supervisors were heard of, how many seconds ago, and what they ask for; what a supervisor
-- asks for stays as it was when it is null. Zero rows: another control plane has raised the epoch.
insert into supervisors (name, states, last_seen_at)
select r.name, array(select q.queue from json_array_elements_text(coalesce(r.states, '[]')::json) as q(queue)),
       now() - make_interval(secs => r.ago)
from json_to_recordset(:rows) as r(name text, states text, ago double precision)
where (select c.epoch from control_plane c) = :epoch
order by r.name
on conflict (name) do update set
    states = case when excluded.states = '{}' then supervisors.states else excluded.states end,
    last_seen_at = greatest(supervisors.last_seen_at, excluded.last_seen_at)
returning name
