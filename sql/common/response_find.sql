-- Which step a response belongs to: it awaits it, or was answered by it last. Zero rows: nobody awaits it.
select s.task, s.name from steps s where s.correlation = :correlation
union
select s.task, s.name from steps s where s.answered = :correlation
