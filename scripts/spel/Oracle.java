import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.springframework.context.expression.MapAccessor;
import org.springframework.expression.AccessException;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.PropertyAccessor;
import org.springframework.expression.TypedValue;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.expression.spel.support.ReflectivePropertyAccessor;
import org.springframework.expression.spel.support.StandardEvaluationContext;

/**
 * Answers lines of {"expr": ..., "context": {...}} with {"value": ...} or {"error": ...}, as Spring does.
 *
 * <p>A key that a map lacks is an error for Spring's map accessor and null in Muster. Where that error comes up,
 * "lenient" holds the answer of an accessor that gives null instead, so that what follows can be compared.
 */
public final class Oracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final SpelExpressionParser PARSER = new SpelExpressionParser();

    /** Reads any key of any map: null when it is not there. */
    private static final class LenientMapAccessor extends MapAccessor {
        @Override
        public boolean canRead(EvaluationContext context, Object target, String name) {
            return target instanceof Map;
        }

        @Override
        public TypedValue read(EvaluationContext context, Object target, String name) {
            return new TypedValue(((Map<?, ?>) target).get(name));
        }
    }

    /** Only what a Map.Entry shows, so that `key` and `value` work and no other Java property does. */
    private static final class EntryAccessor extends ReflectivePropertyAccessor {
        @Override
        public Class<?>[] getSpecificTargetClasses() {
            return new Class<?>[] {Map.Entry.class};
        }

        @Override
        public boolean canRead(EvaluationContext context, Object target, String name)
                throws AccessException {
            return target instanceof Map.Entry && (name.equals("key") || name.equals("value"))
                    && super.canRead(context, target, name);
        }
    }

    private static Object answer(JsonNode line, PropertyAccessor maps) throws Exception {
        Map<String, Object> root = JSON.convertValue(line.get("context"), new TypeReference<LinkedHashMap<String, Object>>() {});
        StandardEvaluationContext context = new StandardEvaluationContext(root);
        context.setPropertyAccessors(List.of(maps, new EntryAccessor()));
        context.setVariables(root);
        return PARSER.parseExpression(line.get("expr").asText()).getValue(context);
    }

    private static Map<String, Object> reply(JsonNode line, PropertyAccessor maps) {
        Map<String, Object> reply = new LinkedHashMap<>();
        try {
            reply.put("value", JSON.valueToTree(answer(line, maps)));
        } catch (Exception | StackOverflowError problem) {
            reply.put("error", String.valueOf(problem.getMessage()));
        }
        return reply;
    }

    private static String reply(String text) throws Exception {
        JsonNode line = JSON.readTree(text);
        Map<String, Object> reply = reply(line, new MapAccessor());
        if (String.valueOf(reply.get("error")).startsWith("EL1008E")) {
            reply.put("lenient", reply(line, new LenientMapAccessor()));
        }
        return JSON.writeValueAsString(reply);
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Writer out = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.write(reply(line));
            out.write('\n');
        }
        out.flush();
    }
}
