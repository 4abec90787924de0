-- Writes down which supervisors were heard of, as on Postgres; the states are a JSON list, and the time is
-- SQLite's own, which has milliseconds. Zero rows: another control plane has raised the epoch.
insert into supervisors (name, states, last_seen_at)
select r.value ->> 'name', coalesce(r.value ->> 'states', '[]'),
       strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', format('-%.3f seconds', r.value ->> 'ago'))
from json_each(:rows) as r
where (select c.epoch from control_plane c) = :epoch
on conflict (name) do update set
    states = case when excluded.states = '[]' then supervisors.states else excluded.states end,
    last_seen_at = max(supervisors.last_seen_at, excluded.last_seen_at)
returning name
