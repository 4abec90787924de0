-- Removes what these families (a JSON list of top tokens) hold. Zero rows, always.
delete from held where root in (select value from json_each(:roots))
